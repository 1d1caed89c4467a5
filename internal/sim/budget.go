package sim

// Budget is how often each fault may still happen.
type Budget [numFaults]uint8

// MostOfAFault is how often one fault may happen in an exploration.
const MostOfAFault = 3

// packedBudget has two bits for each fault.
type packedBudget uint32

func (b *Budget) pack() packedBudget {
	var out packedBudget
	for i, left := range b {
		out |= packedBudget(left) << (2 * i)
	}
	return out
}

func (p packedBudget) unpack() Budget {
	var out Budget
	for i := range out {
		out[i] = uint8(p >> (2 * i) & MostOfAFault)
	}
	return out
}

// covers tells whether as much or more is left of every fault. It subtracts
// every second fault at once, with a bit between them for what is lacking.
func (p packedBudget) covers(other packedBudget) bool {
	const faults, lacking = 0x33333333, 0x44444444
	even := (p&faults | lacking) - other&faults
	odd := (p>>2&faults | lacking) - other>>2&faults
	return even&odd&lacking == lacking
}

// sum is how many faults are left.
func (b *Budget) sum() int {
	n := 0
	for _, left := range b {
		n += int(left)
	}
	return n
}
