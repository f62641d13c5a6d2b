package parse

import "strings"

// mathText returns a formula of Office (OMML) or of MathML in one line, as one would type it:
// (a+b)/2, x^2, a_i, √(x). It is for search and reading, not for setting it again.
func mathText(n *node) string {
	switch n.name {
	case "t", "mi", "mn", "mo", "mtext", "ms":
		return strings.TrimSpace(string(n.content))
	case "f":
		return grouped(mathText(n.child("num"))) + "/" + grouped(mathText(n.child("den")))
	case "sSup":
		return mathText(n.child("e")) + "^" + grouped(mathText(n.child("sup")))
	case "sSub":
		return mathText(n.child("e")) + "_" + grouped(mathText(n.child("sub")))
	case "sSubSup":
		return mathText(n.child("e")) + "_" + grouped(mathText(n.child("sub"))) + "^" + grouped(mathText(n.child("sup")))
	case "rad":
		return mathText(n.child("deg")) + "√" + grouped(mathText(n.child("e")))
	case "nary":
		return narySign(n) + mathText(n.child("e"))
	case "d":
		return delimited(n)
	case "m", "mtable", "eqArr":
		return "[" + joinedMath(n, "; ") + "]"
	case "mr", "mtr":
		return joinedMath(n, ", ")
	}
	return schoolMath(n)
}

// schoolMath returns an element of MathML with operands in a fixed order, and the children
// of any other element.
func schoolMath(n *node) string {
	at := func(i int) string {
		if i < len(n.children) {
			return grouped(mathText(n.children[i]))
		}
		return ""
	}
	switch n.name {
	case "mfrac":
		return at(0) + "/" + at(1)
	case "msup", "mover":
		return at(0) + "^" + at(1)
	case "msub", "munder":
		return at(0) + "_" + at(1)
	case "msubsup", "munderover":
		return at(0) + "_" + at(1) + "^" + at(2)
	case "msqrt":
		return "√" + grouped(joinedMath(n, ""))
	case "mroot":
		return at(1) + "√" + at(0)
	case "annotation", "annotation-xml":
		return ""
	}
	return joinedMath(n, "")
}

// joinedMath returns the children of an element, except those with properties.
func joinedMath(n *node, separator string) string {
	var texts []string
	for _, child := range n.children {
		if strings.HasSuffix(child.name, "Pr") {
			continue
		}
		if text := mathText(child); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, separator)
}

// grouped returns text in brackets if it is more than a number, a name or brackets.
func grouped(text string) string {
	if !strings.ContainsAny(text, "+-−±*/·×÷=<>≤≥, ^_") || strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") && strings.Count(text, "(") == 1 {
		return text
	}
	return "(" + text + ")"
}

// narySign returns the sign of a sum, product or integral with its limits.
func narySign(n *node) string {
	sign := n.child("naryPr").child("chr").attr("val")
	if sign == "" {
		sign = "∫"
	}
	if sub := mathText(n.child("sub")); sub != "" {
		sign += "_" + grouped(sub)
	}
	if sup := mathText(n.child("sup")); sup != "" {
		sign += "^" + grouped(sup)
	}
	return sign + " "
}

// delimited returns a term in its brackets.
func delimited(n *node) string {
	properties := n.child("dPr")
	sign := func(name, usual string) string {
		if of := properties.child(name); of.name != "" {
			return of.attr("val")
		}
		return usual
	}
	return sign("begChr", "(") + joinedMath(n, sign("sepChr", "|")) + sign("endChr", ")")
}
