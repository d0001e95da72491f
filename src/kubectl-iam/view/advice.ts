/** Extracts the instructions from a condition's message. Pure. */

/** Verbs that begin an instruction in the operator's messages, or one that follows its cause after a semicolon. */
const VERBS =
  "Activate|Add|Ask|Bind|Choose|Correct|Create|Delete|Exempt|Find|Follow|Give|Label|Leave|Lower|Make|Name|Remove|Restart|Revoke|Set|Use|Wait";
const INSTRUCTION = new RegExp(`^(${VERBS}) |; (${VERBS.toLowerCase()}) `);

/** `undefined` if the message has no instruction. */
export function adviceIn(message: string): string | undefined {
  // A dot within a word, as in spec.secret.name, does not end a sentence.
  const found = message.split(/(?<=[.!?]) +/).filter((sentence) => INSTRUCTION.test(sentence));
  return found.length === 0 ? undefined : found.join(" ");
}
