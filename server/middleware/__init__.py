"""The steps before and after each handler; `pipeline` defines their order."""
