package relay

// IsFile reports that an address is a file or a device of this machine, so that
// sending events there writes to it.
func IsFile(text string) bool {
	a, err := parse(text)
	return err == nil && (a.kind == file || a.kind == device)
}

// IsDevice reports that an address is a device. A receiver opens it for writing
// too.
func IsDevice(text string) bool {
	a, err := parse(text)
	return err == nil && a.kind == device
}
