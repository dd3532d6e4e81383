package host

import (
	"errors"

	b "ppscript/builtins"
	"ppscript/runtime/expr"

	"go.starlark.net/starlark"
)

func ipAddress() *b.Builtin {
	return &b.Builtin{
		Name:    "ip_address",
		Group:   b.Hosted,
		Summary: "An IP address as people write it.",
		Params: []b.Param{
			{Name: "bytes", Type: b.ListOf(b.Int), Required: true, Doc: "4 or 16 bytes, such as the field saddr_v6 of sock:inet_sock_set_state"},
		},
		Returns: "string",
		Result:  "the address; an IPv4 address within an IPv6 address (::ffff:10.0.0.1) becomes 10.0.0.1",
		Errors:  "other than 4 or 16 numbers, or one that is no byte",
		Source:  "computed in ppscript; any kernel; no privilege",
		Cost:    "100 ns in a C expression; a function that calls it stays interpreted: a microsecond",
		Examples: []b.Example{
			{Code: `ip_address([10, 0, 0, 1])`, Output: `"10.0.0.1"`},
			{Code: `ip_address([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1])`, Output: `"127.0.0.1"`},
			{Code: `tracepoint("sock:inet_sock_set_state").by(to = "ip_address(daddr_v6)").count()`, Output: "<table of to, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			var bytes []byte
			for x := range starlark.Elements(c.Value("bytes").(starlark.Iterable)) {
				n, err := starlark.AsInt32(x)
				if err != nil || n < 0 || n > 255 {
					return nil, c.Errorf("bytes", "got %v, want numbers from 0 to 255", x)
				}
				bytes = append(bytes, byte(n))
			}
			text, ok := expr.IPAddress(nil, bytes)
			if !ok {
				return nil, c.Error("bytes", errors.New("want 4 or 16 bytes"),
					"give a field such as saddr_v6")
			}
			return starlark.String(text), nil
		},
	}
}
