package perfdata

// These texts describe ftrace's own ring, as events/header_page and
// events/header_event of a 64-bit kernel do. A recording of perf has no such
// ring, but readers of its tracing data want them to be there.
const (
	headerPage = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n" +
		"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" +
		"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n" +
		"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"
	headerEvent = "# compressed entry header\n" +
		"\ttype_len    :    5 bits\n" +
		"\ttime_delta  :   27 bits\n" +
		"\tarray       :   32 bits\n"
)
