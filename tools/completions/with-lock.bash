# Completion of with-lock for bash: its options, keys that are held, then the command as if it stood alone.
_with_lock() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i word key=
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ -z $key ]]; then
      case $word in
        -w | --wait | -E | --conflict-exit-code | -c | --command | --ttl | --store) ((i++)) ;;
        -*) ;;
        *) key=$word ;;
      esac
    elif [[ $word != -- ]]; then
      _command_offset "$i" 2> /dev/null
      return
    fi
  done
  if [[ -n $key ]]; then
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    return
  fi
  case $prev in
    -w | --wait | -E | --conflict-exit-code | -c | --command | --ttl | --store) return ;;
    --on-lost | =) mapfile -t COMPREPLY < <(compgen -W "kill warn" -- "${cur#=}") && return ;;
  esac
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "--nonblock --wait --conflict-exit-code --command --ttl --store --on-lost=kill
      --on-lost=warn --handover --escaped --verbose --help --version" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -W "$(inspect-locks 2> /dev/null | awk 'NR > 1 { print $1 }')" -- "$cur")
  fi
}
complete -F _with_lock with-lock
