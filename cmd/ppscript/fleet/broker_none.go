//go:build nohub

package fleet

import "ppscript/runtime/text/diag"

// listen says that this program has no server.
func (h *Hub) listen(string, int, string) (broker, error) {
	return nil, diag.Errorf(diag.Run, "start hub", h.Listen,
		"this program was built without a server (-tags nohub)").
		WithHint("use a NATS server: ppscript hub --hub nats://HOST:4222; or build ppscript without the tag")
}

// Idle is of use where there is a server.
func Idle() {}
