# A function for scripts that start servers. Source it.

# own_loopback_address prints a random address of this machine, of the 16 million in 127.0.0.0/8. A server there
# may have the port that is usual for it: nothing else listens on the address.
own_loopback_address() {
	local a b c
	read -r a b c < <(od -An -N3 -tu1 /dev/urandom)
	echo "127.$((a % 254 + 1)).$b.$((c % 254 + 1))"
}
