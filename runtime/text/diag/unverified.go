package diag

// Unverified names a part of a script of which this machine cannot tell whether it is right: its kernel may
// not be asked here, and what is known of other kernels has no such thing. A run of a script ends with
// it; a check of a script reports it, and goes on.
type Unverified struct {
	Feature string
	Why     error
}

func (u *Unverified) Error() string { return u.Feature + ": not verified here: " + u.Why.Error() }

// Unwrap returns the reason.
func (u *Unverified) Unwrap() error { return u.Why }
