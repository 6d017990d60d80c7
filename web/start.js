Page.start();
Only.start();
