Page.start();
