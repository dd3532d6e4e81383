package host

import (
	b "ppscript/builtins"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

func byThread() *b.Builtin {
	return &b.Builtin{
		Name: "by_thread", Group: b.Hosted, Summary: "Whether threads are observed, not CPUs.",
		Returns: "bool", Result: "True with -p, -t or a command (unless with --system)", Errors: "none",
		Source: "the command line", Cost: "none",
		Examples: []b.Example{{Code: `"thread" if by_thread() else "cpu"`, Output: `"cpu"`}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return starlark.Bool(c.Host().Session.ByThread), nil
		},
	}
}

func recorded() *b.Builtin {
	return &b.Builtin{
		Name:     "recorded",
		Group:    b.Hosted,
		Summary:  "Whether events come from a recording, which has samples but no counters.",
		Returns:  "bool",
		Result:   "True with --input, and in tests",
		Errors:   "none",
		Source:   "the command line",
		Cost:     "none",
		Examples: []b.Example{{Code: `recorded()`, Output: "False"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return starlark.Bool(c.Host().Session.Recorded), nil
		},
	}
}

func verbosity() *b.Builtin {
	return &b.Builtin{
		Name: "verbosity", Group: b.Hosted, Summary: "How many messages the user wants beside the results.",
		Returns: "int", Result: "how often -v was given", Errors: "none",
		Source: "the command line", Cost: "none",
		Examples: []b.Example{{Code: `verbosity() > 0`, Output: "False"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return starlark.MakeInt(c.Host().Session.Verbosity), nil
		},
	}
}

func blockDevice() *b.Builtin {
	return &b.Builtin{
		Name:     "block_device",
		Group:    b.Hosted,
		Summary:  "A disk or partition, as block tracepoints name it.",
		Params:   []b.Param{{Name: "name", Type: b.String, Required: true, Doc: "such as vda1 or /dev/sda"}},
		Returns:  "struct(name, disk, dev, start, size, part)",
		Result:   "dev is the disk's number in tracepoints; start and size are sectors of 512 bytes; part is True for a partition",
		Errors:   "no such device, with the nearest name",
		Source:   "/sys/class/block",
		Cost:     "a few files read",
		Examples: []b.Example{{Code: `try_(block_device, "no such disk").ok`, Output: "False"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			d, err := kernel.ReadBlockDevice(kernel.Roots{}, c.String("name"))
			if err != nil {
				return nil, c.Error("name", err, diag.HintOf(err))
			}
			return deviceValue(d), nil
		},
	}
}

func blockDevices() *b.Builtin {
	return &b.Builtin{
		Name:     "block_devices",
		Group:    b.Hosted,
		Summary:  "All disks and partitions of this machine.",
		Returns:  "list of struct(name, disk, dev, start, size, part)",
		Result:   "as of block_device, in the order of their names; one that goes away meanwhile is left out",
		Errors:   "no sysfs",
		Source:   "/sys/class/block",
		Cost:     "a few files read for each",
		Examples: []b.Example{{Code: `"no such disk" in [d.name for d in block_devices()]`, Output: "False"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			devices, err := kernel.BlockDevices(kernel.Roots{})
			if err != nil {
				return nil, err
			}
			var list []starlark.Value
			for _, d := range devices {
				list = append(list, deviceValue(d))
			}
			return starlark.NewList(list), nil
		},
	}
}

func deviceValue(d kernel.BlockDevice) starlark.Value {
	return starlarkstruct.FromStringDict(starlark.String("block_device"), starlark.StringDict{
		"name":  starlark.String(d.Name),
		"disk":  starlark.String(d.Disk),
		"dev":   starlark.MakeUint64(d.Dev),
		"start": starlark.MakeUint64(d.Start),
		"size":  starlark.MakeUint64(d.Size),
		"part":  starlark.Bool(d.Part),
	})
}
