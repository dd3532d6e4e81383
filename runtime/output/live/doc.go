// Package live shows a run in a browser: --http serves a page with the results of the
// newest intervals and of those before, --html writes the same page with the results inside.
// The command line makes both; runtime/output hands them the results.
//
// What is kept of a run is bounded, whatever the run does and however many look on: results
// as the compressed JSON of each interval, of lines and slow pairs the newest. A reader is told
// only how far the run is, and fetches the rest when it wants to, so that a slow one delays
// nobody and nothing waits for it in a queue.
//
// The page is plain HTML, CSS and JavaScript, in page/; it takes nothing from elsewhere.
package live
