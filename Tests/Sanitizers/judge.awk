# awk -v known=leaks.txt -f judge.awk REPORT: prints what counts of a process's report, and fails when nothing does.
#
# A leak counts unless the stack that allocated it names a function of leaks.txt. Everything else in a report counts: errors of the
# address and the thread sanitizer, and their own troubles.
BEGIN {
  while ((getline line < known) > 0) if (line !~ /^[ \t]*(#|$)/) names[line]
  RS = ""
}
/^SUMMARY: AddressSanitizer: [0-9]+ byte\(s\) leaked/ { next }
/^=+\n==[0-9]+==ERROR: LeakSanitizer: detected memory leaks$/ { next }
/^(Direct|Indirect) leak of / { for (name in names) if (index($0, name)) next }
{ print $0 "\n"; counts = 1 }
END { exit !counts }
