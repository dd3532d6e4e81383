package flow

import "ppscript/runtime/event"

// Opens is the receiver of the begins and ends of spans. Joins and folds call it before
// they hand out the spans that an event ends.
type Opens interface {
	// Opened says that a span begins with an event, which is valid during the call. The
	// number identifies the span until it is closed, and is then used again.
	Opened(id int32, begin *event.Event)
	// Closed says that a span ended, or was dropped.
	Closed(id int32)
	// Broke comes before Closed if the end of the span will not be known: a loss may hide
	// it, or a bound was hit.
	Broke(id int32)
	// Alone says that an event ends a span whose begin was not seen.
	Alone(end *event.Event)
}
