"""The commands of `vitrine`, grouped by what they are about.

Every module has `add(commands)`, which declares its commands to argparse; what a command needs is imported when it runs, so that
`--help` answers at once.
"""
