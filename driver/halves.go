package driver

// halves tries a call about many items, and where it fails because of some of them, tries it with each half, and so on. It returns the items with which it fails alone:
// a row that somebody has locked, an outcome that the database refuses. try reports whether such an item is among those given.
func halves[T any](items []T, try func([]T) (failed bool)) (alone []T) {
	if len(items) == 0 || !try(items) {
		return nil
	}
	if len(items) == 1 {
		return items
	}
	half := len(items) / 2
	return append(halves(items[:half:half], try), halves(items[half:], try)...)
}
