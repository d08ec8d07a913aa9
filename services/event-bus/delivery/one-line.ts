/** A text as one line: white space with line ends in it is one space. Each character is looked at twice at most. */
export const oneLine = (text: string): string =>
  lineEnd.test(text) ? text.replaceAll(/\s+/g, (blank) => (lineEnd.test(blank) ? " " : blank)) : text;

const lineEnd = /[\r\n]/;
