package main

// bashCompletion calls ppscript for candidates, as cobra's script does, but needs only bash:
// cobra's script needs the package bash-completion, which small machines lack. Bash splits words at
// ':' and '=', so the script first joins the pieces of an event's name, and leaves out the part
// that bash will not replace.
const bashCompletion = `# bash completion of ppscript; load it with: source <(ppscript completion bash)
_ppscript() {
    local rest="${COMP_LINE:0:COMP_POINT}" words=() i word trimmed
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        trimmed="${rest#"${rest%%[![:space:]]*}"}"
        word="${trimmed:0:${#word}}"
        if ((i > 0)) && [[ -n $rest && $trimmed == "$rest" ]]; then
            words[${#words[@]}-1]+="$word"
        else
            words+=("$word")
        fi
        rest="${trimmed:${#word}}"
    done
    local current="${words[${#words[@]}-1]}" fixed=""
    case $current in
    [\'\"]*) current="${current:1}" ;;
    *[:=]*) fixed="${current%"${current##*[:=]}"}" ;;
    esac
    words[${#words[@]}-1]="$current"
    local line directive=0
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == :* ]]; then
            directive="${line#:}"
        else
            line="${line%%$'\t'*}"
            COMPREPLY+=("${line#"$fixed"}")
        fi
    done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
    if ((directive & 2)); then
        compopt -o nospace 2>/dev/null
    fi
    if ((${#COMPREPLY[@]} == 0 && !(directive & 4))); then
        compopt -o default 2>/dev/null
    fi
}
complete -F _ppscript ppscript
`
