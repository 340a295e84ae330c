package value

import "testing"

func BenchmarkCompareText(b *testing.B) {
	x, y := NewString(NVarChar, "chokaq.orders.mail-1"), NewString(NVarChar, "CHOKAQ.orders.mail-2")
	for b.Loop() {
		Compare(x, y, DefaultCollation)
	}
}

func BenchmarkSortKeyText(b *testing.B) {
	x := NewString(NVarChar, "chokaq.orders.mail-1")
	var key []byte
	for b.Loop() {
		key = SortKey(key[:0], x, DefaultCollation)
	}
}

func BenchmarkLike(b *testing.B) {
	x, p := NewString(NVarChar, "chokaq.orders.mail-1"), NewString(NVarChar, "%orders%")
	for b.Loop() {
		Like(x, p, "", DefaultCollation)
	}
}
