/**
 * The completion scripts, by shell. Each script asks `kubectl-iam __complete` and ignores the line of the directive.
 */
export const scripts: Readonly<Record<string, string>> = {
  bash: `# bash completion for kubectl-iam
_kubectl_iam() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    [[ $line == :* ]] || COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(kubectl-iam __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _kubectl_iam kubectl-iam`,
  zsh: `#compdef kubectl-iam
_kubectl_iam() {
  local -a candidates
  local line
  for line in "\${(@f)$(kubectl-iam __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ $line == :* ]] && continue
    candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe kubectl-iam candidates
}
compdef _kubectl_iam kubectl-iam`,
  fish: `# fish completion for kubectl-iam
function __kubectl_iam
  set -l words (commandline -opc) (commandline -ct)
  kubectl-iam __complete $words[2..-1] 2>/dev/null | string match -v -r '^:'
end
complete -c kubectl-iam -f -a '(__kubectl_iam)'`,
  kubectl: `#!/bin/sh
# As kubectl_complete-iam on PATH: kubectl's own completion asks it for "kubectl iam".
exec kubectl-iam __complete "$@"`,
};
