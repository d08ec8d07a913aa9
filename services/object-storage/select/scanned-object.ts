/** The bytes of the object that is searched. */
export interface ScannedObject {
  readonly sizeBytes: number;
  /** The bytes of a part, in pieces; the iteration is ended when no more are needed. One part is read at a time. */
  pieces(from: number, to: number): AsyncIterable<Uint8Array>;
}

/** How far a scan is. */
export interface ScanFigures {
  /** Bytes read of the object. */
  scannedBytes: number;
  /** Bytes searched, decompressed. */
  processedBytes: number;
  /** Bytes of the result. */
  returnedBytes: number;
}
