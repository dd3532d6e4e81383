//go:build nohub

package fleet

import (
	"os"
	"path/filepath"
	"syscall"

	"ppscript/cmd/ppscript/fleet/token"
	"ppscript/runtime/text/diag"
)

// elsewhere executes ServerProgram, which has the server, in place of this program, with the same
// arguments. The file must be in the directory of this program: it is not searched in $PATH, since
// this program may have rights that the owner of a directory in $PATH lacks.
func (h *Hub) elsewhere() error {
	if h.Server.URL != "" {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(self), ServerProgram)
	if _, err := os.Stat(path); err != nil {
		return diag.Errorf(diag.Run, "start hub", h.Listen,
			"this program has no server, and there is no %s", path).
			WithHint("install the package %s, or in the source: make install HUB=1; "+
				"or use a NATS server: ppscript hub --hub nats://HOST:4222", ServerProgram)
	}
	env := os.Environ()
	if h.Server.token != "" { // Take has removed it from the environment
		env = append(env, token.Variable+"="+h.Server.token)
	}
	err = syscall.Exec(path, append([]string{"ppscript"}, os.Args[1:]...), env)
	return diag.Errorf(diag.Run, "start hub", path, "%w", err).
		WithHint("install it again: it is of the package %s", ServerProgram)
}

// listen is never called in a program without the server.
func (h *Hub) listen(string, int, string) (broker, error) { panic("BUG: a server that is elsewhere") }

// Idle does nothing in a program without the server.
func Idle() {}
