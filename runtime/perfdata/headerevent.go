package perfdata

// headerEvent is what the kernel has in events/header_event of tracefs. It
// describes the headers of ftrace's own ring, which a recording of perf does
// not have, but readers want it to be there.
const headerEvent = "# compressed entry header\n" +
	"\ttype_len    :    5 bits\n" +
	"\ttime_delta  :   27 bits\n" +
	"\tarray       :   32 bits\n"
