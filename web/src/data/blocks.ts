/** Decodes base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Inflates a zlib stream. */
export async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The data blocks of the page. A block is decoded on first use; its text is then removed to free memory. */
export class Blocks {
  private readonly read = new Map<number, Promise<Uint8Array<ArrayBuffer>>>();

  constructor(private readonly page: Document) {}

  get(number: number): Promise<Uint8Array<ArrayBuffer>> {
    let bytes = this.read.get(number);
    if (!bytes) {
      const element = this.page.getElementById(`block-${number}`);
      if (!element) throw new Error(`block ${number} is missing from the page`);
      bytes = inflate(fromBase64(element.textContent ?? ""));
      element.remove();
      this.read.set(number, bytes);
    }
    return bytes;
  }
}
