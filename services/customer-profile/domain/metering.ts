/** Objects that one unit of metering covers. */
const objectsPerUnit = 100;

/** What a profile with so many objects counts for: one, and one more for each further hundred objects begun. */
export const meteringUnits = (objectCount: number): number => Math.max(1, Math.ceil(objectCount / objectsPerUnit));
