" Scripts of ppscript end in .star, as files of other programs do: theirs have
" no main, options or events.
autocmd BufRead,BufNewFile *.star
      \ if line('$') == 1 || search('\v^def main\(|<options\(|<opt\.|<tracepoint\(|^load\("\@stdlib', 'nw') |
      \   set filetype=ppscript |
      \ endif
