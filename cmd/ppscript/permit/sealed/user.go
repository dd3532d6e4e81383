package sealed

import (
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A User is the user who wants to run a script.
type User struct {
	ID     int
	Name   string
	Groups []string // names and #numbers
}

// Caller returns the user who started the process. If the process is root's and sudo started it,
// this is the user who called sudo, read from SUDO_UID: only root and sudo can set that variable
// for a process of root.
func Caller() User {
	id := os.Getuid()
	name, group := "", os.Getgid()
	if by, err := strconv.Atoi(os.Getenv("SUDO_UID")); err == nil && id == 0 && by >= 0 {
		id, name = by, os.Getenv("SUDO_USER")
		if group, err = strconv.Atoi(os.Getenv("SUDO_GID")); err != nil {
			group = -1
		}
	}
	u := User{ID: id, Name: name}
	ids := []string{strconv.Itoa(group)}
	if known, err := user.LookupId(strconv.Itoa(id)); err == nil {
		u.Name = known.Username
		if more, err := known.GroupIds(); err == nil {
			ids = append(ids, more...)
		}
	}
	slices.Sort(ids)
	for _, gid := range slices.Compact(ids) {
		u.Groups = append(u.Groups, "#"+gid)
		if g, err := user.LookupGroupId(gid); err == nil {
			u.Groups = append(u.Groups, g.Name)
		}
	}
	return u
}

// matches reports that a word of a rule names the user or one of the user's
// groups.
func (u User) matches(who string) bool {
	if group, ok := strings.CutPrefix(who, "%"); ok {
		return slices.Contains(u.Groups, group)
	}
	if id, ok := strings.CutPrefix(who, "#"); ok {
		return id == strconv.Itoa(u.ID)
	}
	return who == "ALL" || who == u.Name
}

func (u User) String() string {
	if u.Name == "" {
		return "user " + strconv.Itoa(u.ID)
	}
	return u.Name
}

// keptEnv are the environment variables that are kept: the terminal's, and the ones in which sudo
// names its caller. HOME and PATH get fixed values.
var keptEnv = []string{"TERM", "COLUMNS", "LINES", "NO_COLOR", "SUDO_UID", "SUDO_GID", "SUDO_USER"}

// CleanEnvironment removes all variables except keptEnv from the environment, since they could
// change the run: sources of libraries, secrets, paths of programs. Variables of the Go runtime
// (GO...) have had their effect by then, so if there were any, the process executes the program
// again and does not return.
func CleanEnvironment() error {
	began := slices.ContainsFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GO") })
	values := map[string]string{"HOME": "/",
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, name := range keptEnv {
		if v, ok := os.LookupEnv(name); ok && !strings.ContainsAny(v, "/%") {
			values[name] = v
		}
	}
	os.Clearenv()
	for name, v := range values {
		if err := os.Setenv(name, v); err != nil {
			return err
		}
	}
	if began {
		return executeAnew()
	}
	return nil
}

// executeAnew executes the program again. Tests replace it.
var executeAnew = func() error { return syscall.Exec("/proc/self/exe", os.Args, os.Environ()) }
