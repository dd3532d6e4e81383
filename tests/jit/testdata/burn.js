// Burns CPU time in two functions, and prints how much each took, in seconds. Usage: burn.js SECONDS
"use strict";

function much(n) {
  let total = 0;
  for (let i = 0; i < n; i++) total = (total + i * i) % 1000003;
  return total;
}

function little(n) {
  let total = 0;
  for (let i = 0; i < n; i++) total = (total * 3 + i) % 65537;
  return total;
}

function cpu() {
  const used = process.cpuUsage();
  return (used.user + used.system) / 1e6;
}

const took = { much: 0, little: 0 };
while (took.much + took.little < Number(process.argv[2])) {
  const a = cpu();
  much(3e6);
  const b = cpu();
  little(1e6);
  took.much += b - a;
  took.little += cpu() - b;
}
console.log(took.much, took.little);
