def profiled(*a: object) -> str: return ""
