# awk -v known=leaks.txt -f judge.awk REPORT: prints what counts of a process's report, and fails when nothing does.
#
# Leaks that leaks.txt names do not count; most never get into a report, but some programs are started without being told of it. Nor
# do side tables: an object that was referred to weakly refers to its own, 32 bytes, by an address shifted by three bits, which
# LeakSanitizer does not take for one. They must not be in leaks.txt: the table refers to the object, so that no object that was ever
# referred to weakly, nor anything it holds, could leak any more. Everything else in a report counts: other leaks, errors of the
# address and the thread sanitizer, and their own troubles.
BEGIN {
  names["formWeakReference"]
  while ((getline line < known) > 0) if (sub(/^leak:/, "", line)) names[line]
  RS = ""
}
/^SUMMARY: AddressSanitizer: [0-9]+ byte\(s\) leaked/ { next }
/^=+\n==[0-9]+==ERROR: LeakSanitizer: detected memory leaks$/ { next }
/^(Direct|Indirect) leak of / { for (name in names) if (index($0, name)) next }
{ print $0 "\n"; counts = 1 }
END { exit !counts }
