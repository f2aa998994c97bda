#!/bin/busybox sh
# The first process of an emulated machine: sets it up, runs /cmd, sends /out back, powers off.
/bin/busybox mkdir -p /usr/bin /usr/sbin /sbin
/bin/busybox --install -s /bin
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8 TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/shm /sys/fs/cgroup
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t cgroup2 cgroup /sys/fs/cgroup
chmod 1777 /tmp
exec >/dev/ttyS0 2>&1 </dev/null
cd /root
# The host compares the two with its own clock: on a busy host the kernel may take the frequency of its
# processor wrong.
echo "hopcost-vm: uptime $(cut -d' ' -f1 /proc/uptime)"
sleep 1
echo "hopcost-vm: uptime $(cut -d' ' -f1 /proc/uptime)"
echo "hopcost-vm: ready"
sh /cmd
echo $? > /out/exit
tar -C /out -cf /dev/nvme0n1 .
sync
poweroff -f
