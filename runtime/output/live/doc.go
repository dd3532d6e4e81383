// Package live shows a run in a browser: --http serves a page with the results of the newest
// intervals and of earlier ones, --html writes the same page to a file that includes the
// results. The command line opens both; package output passes them the results.
//
// The memory for a run is bounded, for any run and any number of clients: it keeps the results
// as the compressed JSON of each interval, and the newest lines and slow pairs. A client is
// only sent the state of the run, and fetches the data itself, so that a slow client delays
// nobody and needs no queue.
//
// The page is plain HTML, CSS and JavaScript, in page/; it loads nothing from other
// servers.
package live
