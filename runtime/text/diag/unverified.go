package diag

// Unverified names a part of a script of which this machine cannot tell whether it is right: its kernel may
// not be asked here, and what is known of other kernels has no such thing. Whoever runs a script ends with
// it; whoever checks one tells it, and goes on.
type Unverified struct {
	What string
	Why  error
}

func (u *Unverified) Error() string { return u.What + ": not verified here: " + u.Why.Error() }

// Unwrap returns the reason.
func (u *Unverified) Unwrap() error { return u.Why }
