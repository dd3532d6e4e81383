" How scripts are written, and formatted by gq.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1
setlocal expandtab shiftwidth=4 softtabstop=4 textwidth=110
setlocal commentstring=#\ %s comments=:#
setlocal omnifunc=syntaxcomplete#Complete
setlocal formatprg=ppscript\ fmt\ -
setlocal makeprg=ppscript\ check\ %
setlocal errorformat=ppscript:\ %f:%l:%c:\ %m,ppscript:\ %m
let b:undo_ftplugin = "setlocal expandtab< shiftwidth< softtabstop< textwidth< commentstring< comments< omnifunc< formatprg< makeprg< errorformat<"
