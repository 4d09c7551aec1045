# Completion of inspect-locks for bash: commands, options, and for those that want a key the keys that are held.
_inspect_locks() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} word command=
  local commands="list show watch top stats processes check release serve-metrics"
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ " $commands " == *" $word "* ]] && command=$word && break
  done
  local options="--json --format --store --help"
  case $command in
    show | stats) options+=" --escaped" ;;
    watch) options+=" --escaped --interval" ;;
    release) options+=" --escaped --force" ;;
    top) options+=" --interval" ;;
    check) options+=" --repair" ;;
    serve-metrics) options+=" --listen" ;;
  esac
  case $prev in
    --format) mapfile -t COMPREPLY < <(compgen -W "table json openmetrics" -- "$cur") && return ;;
    --store | --interval | --listen) return ;;
  esac
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  elif [[ -z $command ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
  elif [[ $command == show || $command == watch || $command == stats || $command == release ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(inspect-locks 2> /dev/null | awk 'NR > 1 { print $1 }')" -- "$cur")
  fi
}
complete -F _inspect_locks inspect-locks
