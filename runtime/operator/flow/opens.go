package flow

import "ppscript/runtime/event"

// Opens is told of spans while they last: of those whose begin has been seen. Joins and
// folds tell it before they hand out the spans that an event ends.
type Opens interface {
	// Opened says that a span begins with an event, which is valid during the call. The
	// number stands for the span until it is closed; others have it then.
	Opened(id int32, begin *event.Event)
	// Closed says that a span ended, or came to nothing.
	Closed(id int32)
	// Broke comes before Closed where the end of a span cannot be told any more: a loss may
	// hide it, or a bound was hit.
	Broke(id int32)
	// Alone says that an event ends a span whose begin was not seen.
	Alone(end *event.Event)
}
