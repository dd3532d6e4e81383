package walk

import (
	"flag"
	"testing"

	"ppscript/bpf/load"
	"ppscript/runtime/stack/unwind"
	"ppscript/tests/testkit"
)

var update = flag.Bool("update", false, "compile walk.c anew (needs clang)")

// The routines are what clang makes of their source.
func TestCompiled(t *testing.T) {
	testkit.Compiled(t, "walk", *update, map[string]int64{
		"CHAIN_TASK": load.ChainTask, "CHAIN_KERNEL": load.ChainKernel, "CHAIN_USER": load.ChainUser,
		"CHAIN_MAX": load.ChainMax, "CHAIN_INTERPRETED": load.ChainInterpreted,
		"CHAIN_WORDS": load.ChainWords, "CHAIN_CUT": load.ChainCut, "CHAIN_UNWOUND": load.ChainUnwound,
		"PROC_SIZE": load.WalkProcSize, "PROC_AT": load.WalkProcAt, "PROC_EXEC": load.WalkProcExec,
		"RANGE_SIZE": load.WalkRangeSize, "RANGE_START": load.WalkRangeStart,
		"RANGE_LEN": load.WalkRangeLen, "RANGE_DELTA": load.WalkRangeDelta, "RANGE_AT": load.WalkRangeAt,
		"RANGE_BLOCKS": load.WalkRangeBlocks, "RULE_SIZE": load.WalkRuleSize, "RULE_KIND": load.WalkRuleKind,
		"RULE_REG": load.WalkRuleReg, "RULE_BP": load.WalkRuleBP, "RULE_BX": load.WalkRuleBX,
		"RULE_OFF": load.WalkRuleOff, "RULE_ADD": load.WalkRuleAdd, "RULE_BP_OFF": load.WalkRuleBPOff,
		"RULE_BX_OFF": load.WalkRuleBXOff, "MOST_RANGES": load.MostWalkRangesOfOne,
		"FIRST_SHIFT": load.WalkFirstShift, "COUNT_SHIFT": load.WalkCountShift,
		"PAGE_ROWS": load.WalkPageRows, "CHUNK_BITS": load.WalkChunkBits, "BLOCK_BITS": unwind.BlockBits,
		"END": int64(load.WalkEnd), "NO_CODE": int64(load.WalkNoCode), "NO_TABLE": int64(load.WalkNoTable),
		"BAD": int64(load.WalkBad), "DEEP": int64(load.WalkDeep), "COMPLEX": int64(load.WalkComplex),
		"UNKNOWN": int64(load.WalkUnknown), "POINTERS": int64(load.WalkPointers),
		"FRAMES": int64(load.WalkFrames), "BY_REGISTER": int64(unwind.ByRegister),
		"BY_MEMORY": int64(unwind.ByMemory), "BY_POINTER": int64(unwind.ByPointer),
		"BY_PLT": int64(unwind.ByPLT), "BY_STUB": int64(unwind.ByStub), "BY_SIGNAL": int64(unwind.BySignal),
		"BY_SWITCH": int64(unwind.BySwitch), "IS_END": int64(unwind.IsEnd), "AT_CFA": int64(unwind.AtCFA),
		"AT_BP": int64(unwind.AtBP), "REG_SP": unwind.RegSP, "REG_BP": unwind.RegBP, "REG_BX": unwind.RegBX,
		"USER_CS": userCS, "MAX_FRAME": maxFrame, "AGAIN": again, "STATE_SIZE": stateSize, "STATE_N": n,
		"STATE_STOP": stop, "STATE_OTHERS": others,
	})
}
