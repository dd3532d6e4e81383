// Package testkit is shared by the tests of the whole program. It declares
// their needs, builds the program once, has a target that causes a known number
// of events, and reads the output of ppscript's JSON and of other tools.
//
//	testkit.Requires(t, testkit.Root, testkit.Tracefs)
//	out := testkit.Run(t, testkit.PPScript(t), "top", "-e", "...", "--format", "json", "--",
//		testkit.Load(t), "-getppid", "100")
//	out.Want(t, 0)
//	rows := testkit.Tables(t, out.Stdout)[0].Rows
//
// It makes no assertions about ppscript; the tests do.
package testkit
