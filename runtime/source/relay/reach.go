package relay

// IsFile reports that an address means a file or a device of this machine: to
// send events there is to write it.
func IsFile(text string) bool {
	a, err := parse(text)
	return err == nil && (a.kind == file || a.kind == device)
}

// IsDevice reports that it means a device, which is opened for writing also by
// the receiver.
func IsDevice(text string) bool {
	a, err := parse(text)
	return err == nil && a.kind == device
}
