"""The history of the store's tables, a file a step; `Store.upgrade` takes them."""
