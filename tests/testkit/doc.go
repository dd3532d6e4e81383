// Package testkit is what tests of the whole program share: what they need of
// the machine, the program itself built once, a target whose events are known
// by number, and what our JSON and the tools that we compare with print.
//
//	testkit.Requires(t, testkit.Root, testkit.Tracefs)
//	out := testkit.Run(t, testkit.PPScript(t), "top", "-e", "...", "--format", "json", "--",
//		testkit.Load(t), "-getppid", "100")
//	out.Want(t, 0)
//	rows := testkit.Tables(t, out.Stdout)[0].Rows
//
// It asserts nothing about ppscript; that is the tests' job.
package testkit
