/** The commands in a console block of a page: what follows `$ `, over as many lines as a backslash continues. */

/** Throws if a part of the block would be neither a command nor output, and so would go when the page is written again. */
export function commandsOf(block: string): readonly string[] {
  const commands = block.match(/^\$ (?:.*\\\n)*.*$/gm) ?? [];
  if (!block.startsWith("$ ")) throw new Error(`begins with output: ${block}`);
  for (const command of commands) {
    if (command.trimEnd().endsWith("\\"))
      throw new Error(`ends in the middle of a command: ${command}`);
    if (command.includes("<<")) throw new Error(`has a here-document: ${command}`);
  }
  return commands;
}
