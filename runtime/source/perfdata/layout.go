package perfdata

// This file has the constants of the file format, from
// tools/perf/Documentation/perf.data-file-format.txt and
// tools/lib/perf/include/perf/event.h in the kernel's source.

const (
	magic        = "PERFILE2"
	magicSwapped = "2ELIFREP"
	magicOld     = "PERFFILE"

	fileHeaderSize = 104 // struct perf_file_header
	pipeHeaderSize = 16  // struct perf_pipe_file_header
	sectionSize    = 16  // struct perf_file_section
	recHeaderSize  = 8   // struct perf_event_header
	minAttrSize    = 64  // PERF_ATTR_SIZE_VER0

	// maxAttrs bounds the number of events, which may be damaged.
	maxAttrs = 1 << 16
	// maxTracing bounds the tracing data in a pipe, in bytes; all formats of a
	// kernel have about 4 MB.
	maxTracing = 256 << 20
)

// Features: bits of the file header and ids of HEADER_FEATURE records.
const (
	featTracingData  = 1
	featBuildID      = 2
	featHostname     = 3
	featOSRelease    = 4
	featVersion      = 5
	featArch         = 6
	featNrCPUs       = 7
	featCPUDesc      = 8
	featCPUID        = 9
	featTotalMem     = 10
	featCmdline      = 11
	featEventDesc    = 12
	featCPUTopology  = 13
	featNUMATopology = 14
	featPMUMappings  = 16
	featSampleTime   = 21
	featClockID      = 23
	featCompressed   = 27
	featClockData    = 29
	featBits         = 256
)

// Record types that perf adds to the kernel's (PERF_RECORD_*).
const (
	userTypeStart = 64

	recHeaderAttr    = 64
	recTracingData   = 66
	recBuildID       = 67
	recFinishedRound = 68
	recIDIndex       = 69
	recAuxtrace      = 71
	recEventUpdate   = 78
	recHeaderFeature = 80
	recCompressed    = 81
	recFinishedInit  = 82
	recCompressed2   = 83

	eventUpdateName = 2  // PERF_EVENT_UPDATE__NAME
	eventUpdateLast = 63 // perf's own kinds are at most this
)
