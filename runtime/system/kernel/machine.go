package kernel

import "strings"

// clocksource is the clock that the kernel reads time from: tsc, kvm-clock,
// arch_sys_counter, hpet. Empty if it cannot be read.
func clocksource(r Roots) string {
	name, _ := readLine(r.SysPath("devices/system/clocksource/clocksource0/current_clocksource"))
	return name
}

// hypervisor names the hypervisor of this virtual machine: "kvm", "xen",
// "hyperv", "vmware", or "guest" if it is unknown. It is "" on bare metal, as
// far as that can be found out. Container managers do not count.
func hypervisor(r Roots) string {
	if name, err := readLine(r.SysPath("hypervisor/type")); err == nil && name != "" {
		return name
	}
	clocks, _ := readLine(r.SysPath("devices/system/clocksource/clocksource0/available_clocksource"))
	vendor, _ := readLine(r.SysPath("class/dmi/id/sys_vendor"))
	product, _ := readLine(r.SysPath("class/dmi/id/product_name"))
	hints := strings.ToLower(clocks + " " + vendor + " " + product)
	for _, h := range []struct{ hint, name string }{
		{"kvm", "kvm"}, {"hyperv", "hyperv"}, {"xen", "xen"}, {"vmware", "vmware"},
		{"virtualbox", "virtualbox"}, {"qemu", "qemu"}, {"amazon ec2", "kvm"}, {"google compute", "kvm"},
	} {
		if strings.Contains(hints, h.hint) && !(h.name == "kvm" && strings.Contains(product, "metal")) {
			return h.name
		}
	}
	info, _ := readLine(r.ProcPath("cpuinfo"))
	for line := range strings.Lines(info) {
		if flags, ok := strings.CutPrefix(line, "flags"); ok {
			for _, flag := range strings.Fields(flags) {
				if flag == "hypervisor" {
					return "guest"
				}
			}
			return ""
		}
	}
	return ""
}

// lockdown is the kernel's lockdown level: "none", "integrity" or
// "confidentiality". Empty means that it cannot be read, for example since
// securityfs is not mounted.
func lockdown(r Roots) string {
	text, _ := readLine(r.SysPath("kernel/security/lockdown"))
	for _, word := range strings.Fields(text) {
		if strings.HasPrefix(word, "[") && strings.HasSuffix(word, "]") {
			return word[1 : len(word)-1]
		}
	}
	return ""
}
