package cgroup

// Parents gives the tests what Detect reads from the two files: for each mount the directories that it
// tries, in order.
func Parents(mountinfo, own string) [][]string {
	var all [][]string
	for _, m := range parseMounts(mountinfo) {
		all = append(all, m.parents(parseMembership(own)))
	}
	return all
}
