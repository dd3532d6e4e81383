package diag

// Unverified names a part of a script that cannot be checked on this machine: its kernel must not
// be asked here, and the formats that ppscript ships do not have that part. A run ends with this
// error; a check of a script reports it and goes on.
type Unverified struct {
	Feature string
	Why     error
}

func (u *Unverified) Error() string { return u.Feature + ": not verified here: " + u.Why.Error() }

// Unwrap returns the reason.
func (u *Unverified) Unwrap() error { return u.Why }
