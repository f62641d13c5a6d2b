/** save lets the browser save pieces as a file. */
export function save(name: string, pieces: BlobPart[], type = "application/octet-stream") {
  const address = URL.createObjectURL(new Blob(pieces, { type }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
