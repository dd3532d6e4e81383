package overlap

import (
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/key"
)

// keys finds the row of a key.
type keys struct {
	ints   *key.Ints
	texts  *key.Texts
	number int64  // the key that find looked up last, if keys are numbers
	pack   []byte // likewise, if they are not
}

func (k *keys) init(integer bool, limit int) {
	if integer {
		k.ints = key.NewInts(limit)
	} else {
		k.texts = key.NewTexts(limit)
	}
}

// find returns the row of a key; key.None if there is none, or no room, or the key fails.
func (k *keys) find(p *expr.Program, f *expr.Frame, makes bool) (row int32, fresh bool) {
	if k.ints != nil {
		k.number = p.Int(f)
		switch {
		case f.Err != nil:
			return key.None, false
		case makes:
			return k.ints.Insert(k.number)
		}
		return k.ints.Find(k.number), false
	}
	k.pack = key.Append(k.pack[:0], p, f)
	switch {
	case f.Err != nil:
		return key.None, false
	case makes:
		return k.texts.Insert(k.pack)
	}
	return k.texts.Find(k.pack), false
}

// forget removes a key.
func (k *keys) forget(row int32, number int64) {
	if k.ints != nil {
		k.ints.Delete(number)
		return
	}
	k.texts.Delete(k.texts.Key(row))
}
