package event

import (
	"strconv"
	"strings"
)

// memberNames are the names of sample members in messages.
var memberNames = map[Member]string{
	MemberTime:      "time",
	MemberTID:       "pid and tid",
	MemberCPU:       "cpu",
	MemberPeriod:    "period",
	MemberAddr:      "addr",
	MemberIP:        "ip",
	MemberComm:      "comm (from comm records)",
	MemberCgroup:    "cgroup_id",
	MemberWeight:    "weight",
	MemberDataSrc:   "data_src",
	MemberPhysAddr:  "phys_addr",
	MemberMode:      "cpumode",
	MemberDataPage:  "data_page_size",
	MemberCodePage:  "code_page_size",
	MemberCallchain: "callchain",
	MemberID:        "id",
	MemberStack:     "user stack",
}

// MembersText lists the names of sample members for a message. Members that only
// serve to compute others have no name and are left out.
func MembersText(members []Member) string {
	var names []string
	for _, f := range members {
		switch name := memberNames[f]; {
		case name != "":
			names = append(names, name)
		case f >= MemberReg && f < MemberArg:
			names = append(names, "register "+strconv.Itoa(int(f-MemberReg)))
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// NoDigits is the name of a thread without its trailing digits, so that all threads of
// a pool have one name.
func NoDigits(comm string) string { return strings.TrimRight(comm, "0123456789") }
