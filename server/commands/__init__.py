"""The subcommands of `vitrine`, a module each."""
