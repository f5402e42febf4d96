"""Completion in bash, where labels have colons in them: bash takes a colon for the end of a word.

click's own script hands over the words as bash has cut them, so that `claude-code:85…` could never be completed. This
one hands over the line, and gives back what follows the last colon.
"""

from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

from agents_ledger import config

_SCRIPT = """\
%(complete_func)s() {
    local line type value
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            dir) COMPREPLY=(); compopt -o dirnames ;;
            file) COMPREPLY=(); compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(env LDG_LINE="${COMP_LINE:0:$COMP_POINT}" LDG_BREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class Bash(BashComplete):
    """Completion in bash, by the line that was typed."""

    source_template = _SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is being typed, and that one."""
        line, _ = config.completion_line()
        words = split_arg_string(line)[1:]
        return (words, "") if not words or line[-1:].isspace() else (words[:-1], words[-1])

    def format_completion(self, item: CompletionItem) -> str:
        """What bash puts in place of the part that it takes for the word."""
        _, breaks = config.completion_line()
        typed = self.get_completion_args()[1]
        start = typed.rfind(":") + 1 if ":" in breaks else 0
        return f"{item.type},{item.value[start:]}"


def register() -> None:
    """From now on this is how bash completes."""
    add_completion_class(Bash)
