"""The subjects of campaigns, a file each; `table` lists them."""
